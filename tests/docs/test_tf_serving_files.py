"""docs/serving/tf_serving: its files are TF Serving's messages, and the command of the README names them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format, wrappers_pb2

SERVING = Path(__file__).resolve().parents[2] / "docs" / "serving"
FILES = SERVING / "tf_serving"
FIELD = descriptor_pb2.FieldDescriptorProto
# tensorflow_serving/servables/tensorflow/session_bundle_config.proto, which tensorflow-serving-api leaves out.
WRAPPED = {"max_batch_size": 1, "batch_timeout_micros": 2, "max_enqueued_batches": 3, "num_batch_threads": 4}


def batching_parameters() -> type:
    """The message `BatchingParameters`."""
    file = descriptor_pb2.FileDescriptorProto(name="batching.proto", package="checked", syntax="proto3")
    file.dependency.append(wrappers_pb2.DESCRIPTOR.name)
    message = file.message_type.add(name="BatchingParameters")
    for name, number in WRAPPED.items():
        kind = {"type": FIELD.TYPE_MESSAGE, "type_name": ".google.protobuf.Int64Value"}
        message.field.add(name=name, number=number, label=FIELD.LABEL_OPTIONAL, **kind)
    message.field.add(name="allowed_batch_sizes", number=6, label=FIELD.LABEL_REPEATED, type=FIELD.TYPE_INT64)
    message.field.add(name="pad_variable_length_inputs", number=7, label=FIELD.LABEL_OPTIONAL, type=FIELD.TYPE_BOOL)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(wrappers_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("checked.BatchingParameters"))


def test_batching_parameters():
    read = text_format.Parse((FILES / "batching_parameters.txt").read_text(), batching_parameters()())
    assert all(getattr(read, name).value >= 1 for name in WRAPPED)
    assert not read.pad_variable_length_inputs
    with pytest.raises(text_format.ParseError):
        text_format.Parse("max_batch: 32", batching_parameters()())


@pytest.mark.parity
def test_model_config():
    from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig

    read = text_format.Parse((FILES / "models.config").read_text(), ModelServerConfig())
    configs = {config.name: config for config in read.model_config_list.config}
    assert set(configs) == {"sentiment", "novel"}
    assert all(config.base_path == f"/models/{name}" for name, config in configs.items())
    assert all(config.model_platform == "tensorflow" for config in configs.values())
    sentiment = configs["sentiment"]
    assert set(sentiment.version_labels.values()) <= set(sentiment.model_version_policy.specific.versions)


def test_the_command_names_the_files():
    told = re.findall(r"=/config/(\S+)", (SERVING / "README.md").read_text(encoding="utf-8"))
    assert sorted(told) == sorted(path.name for path in FILES.iterdir())
