"""A runtime of MLServer for folders that `task.export` wrote. It needs the packages mlserver and tensorflow alone."""

import asyncio

import tensorflow as tf
from mlserver import MLModel
from mlserver.errors import InferenceError
from mlserver.types import InferenceRequest, InferenceResponse, RequestInput, ResponseOutput
from mlserver.utils import get_model_uri

TYPES = {tf.string: "BYTES", tf.bool: "BOOL", tf.float32: "FP32", tf.int32: "INT32"}


class SavedModel(MLModel):
    """Answers by the signature that `parameters.signature_name` of a request names, or by `serving_default`."""

    async def load(self) -> bool:
        self.model = tf.saved_model.load(await get_model_uri(self.settings))
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        try:
            outputs = await asyncio.to_thread(self.answer, payload)
        except (ValueError, TypeError, tf.errors.InvalidArgumentError) as error:  # the request's fault
            raise InferenceError(f"{error}") from error
        return InferenceResponse(model_name=self.name, model_version=self.version, outputs=outputs)

    def answer(self, payload: InferenceRequest) -> list[ResponseOutput]:
        name = getattr(payload.parameters, "signature_name", "serving_default")
        if name not in list(self.model.signatures):
            raise ValueError(f"received the signature {name!r}, expected one of {list(self.model.signatures)}")
        signature = self.model.signatures[name]
        specs = signature.structured_input_signature[1]
        received = sorted(part.name for part in payload.inputs)
        if received != sorted(specs):
            raise ValueError(f"received the inputs {received}, expected {sorted(specs)}")
        answer = signature(**{part.name: tensor(part, specs[part.name]) for part in payload.inputs})
        return [output(name, value) for name, value in answer.items()]


def tensor(part: RequestInput, spec: tf.TensorSpec) -> tf.Tensor:
    if part.datatype != TYPES[spec.dtype] or not spec.shape.is_compatible_with(part.shape):
        received = f"{part.datatype} of shape {part.shape}"
        raise ValueError(f"{part.name}: received {received}, expected {TYPES[spec.dtype]} of shape {spec.shape}")
    return tf.reshape(tf.constant(part.data.root, spec.dtype), part.shape)


def output(name: str, value: tf.Tensor) -> ResponseOutput:
    data = value.numpy().ravel().tolist()
    if value.dtype == tf.string:
        data = [string.decode() for string in data]
    return ResponseOutput(name=name, datatype=TYPES[value.dtype], shape=value.shape.as_list(), data=data)
