"""What the library takes from the private parts of Keras and TensorFlow is there, and does what is expected of it.

A version of Keras that fails here must not be allowed by pyproject.toml before `keras_private.py` fits it.
"""

from __future__ import annotations

from types import SimpleNamespace

import keras
import numpy as np
import pytest
from arrays import to_numpy

from keras_transformers.utils import keras_private

TENSORFLOW = keras.backend.backend() == "tensorflow"
only_tensorflow = pytest.mark.skipif(not TENSORFLOW, reason="about TensorFlow")


def model() -> keras.Model:
    inputs = keras.Input((3,))
    network = keras.Model(inputs, keras.layers.Dense(2)(inputs))
    network.compile("sgd", "mse", metrics=["mae"], jit_compile=False)
    return network


def batch() -> tuple:
    return keras.KerasTensor((None, 3)), keras.KerasTensor((None, 2))


def data() -> tuple:
    return np.ones((4, 3), "float32"), np.ones((4, 2), "float32")


def test_kernel():
    layer = keras.layers.Dense(2, dtype="mixed_bfloat16")
    layer.build((None, 3))
    layer.enable_lora(1)
    layer.lora_kernel_b.assign(np.ones(layer.lora_kernel_b.shape))
    layer.set_weights([np.full(w.shape, 1 / 3) for w in layer.get_weights()])
    kernel = keras_private.kernel(layer)
    assert any(kernel is weight for weight in layer.weights) and kernel.shape == (3, 2) and kernel.dtype == "float32"
    assert not isinstance(layer.kernel, keras.Variable)


def test_variables_without_values():
    first = np.ones((2, 3))
    with keras_private.without_values() as made:
        variables = [keras.Variable(keras.initializers.Zeros(), shape=(2, 3), dtype="bfloat16") for _ in range(2)]
    assert made == variables and all(variable._value is None for variable in made)
    with keras.StatelessScope():  # at its end Keras initialises the variables on its list
        pass
    assert all(variable._value is None for variable in made)
    keras_private.set_value(made[0], first)
    for value in (first, first * 2):
        keras_private.set_value(made[0], value)
        assert (to_numpy(made[0]) == value).all() and made[0].dtype == "bfloat16"
    for variable in made:
        keras_private.initialize(variable)
    assert (to_numpy(made[0]) == first * 2).all() and (to_numpy(made[1]) == 0).all()


def test_untrack_and_track_variables():
    layer = keras.layers.Dense(2)
    layer.build((None, 3))
    before = [v.path for v in layer.weights]
    bias = layer.bias
    with pytest.raises(ValueError, match="cannot add new elements of state"):
        layer.add_weight(shape=(1,), name="another")
    keras_private.untrack_variable(layer, bias)
    assert [v.path for v in layer.weights] == before[:1]
    keras_private.untrack_variable(layer, bias)
    keras_private.track_variables(layer, [bias])
    assert [v.path for v in layer.weights] == before and layer.weights[1] is bias
    with pytest.raises(ValueError, match="cannot add new elements of state"):
        layer.add_weight(shape=(1,), name="another")


class Outer(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.inner = keras.layers.Dense(2)

    def call(self, x):
        return self.inner(x)


def test_all_layers():
    inputs, outer = keras.Input((3,)), Outer()
    network = keras.Model(inputs, outer(inputs))
    found = keras_private.all_layers(network)
    assert {id(network), id(outer), id(outer.inner)} <= set(map(id, found)) and len(found) == len(set(map(id, found)))
    assert [id(layer) for layer in keras_private.all_layers(outer)] == [id(outer), id(outer.inner)]
    assert outer.inner not in network.layers


@only_tensorflow
def test_strategy_of():
    import tensorflow as tf

    assert keras_private.strategy_of(model()) is None
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope():
        assert keras_private.strategy_of(model()) is strategy


@pytest.mark.integration
def test_build_for_batch():
    network = model()
    assert not network.optimizer.built
    keras_private.build_for_batch(network, batch())
    assert network.optimizer.built
    state = [[v.path for v in variables] for variables in (network.optimizer.variables, network.metrics_variables)]
    assert all(state)
    network.fit(*data(), verbose=0)
    assert state == [[v.path for v in group] for group in (network.optimizer.variables, network.metrics_variables)]


@pytest.mark.integration
@only_tensorflow
def test_replace_first_look():
    import tensorflow as tf

    dataset = tf.data.Dataset.from_tensors(data())
    for built in (True, False):
        network, looks = model(), []

        def look(given, network=network, looks=looks, built=built):
            looks.append(given)
            if built:
                keras_private.build_for_batch(network, batch())
            return built

        keras_private.replace_first_look(network, look)
        network.fit(dataset, verbose=0)
        assert looks[0] is dataset and network.optimizer.built
        network.evaluate(dataset, verbose=0)
        assert looks[-1] is dataset and len(looks) > 1


@pytest.mark.integration
@only_tensorflow
def test_keras_looks_by_itself_where_look_does_not_build():
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope():
        network = model()
    passes = []

    def generate():
        passes.append(1)
        yield data()

    specs = tuple(tf.TensorSpec(array.shape, array.dtype) for array in data())
    dataset = tf.data.Dataset.from_generator(generate, output_signature=specs)
    keras_private.replace_first_look(network, lambda dataset: False)
    network.fit(dataset, verbose=0, steps_per_epoch=1)
    assert len(passes) == 2  # the look took one; where it is only of one, `take_uneven_batches` has no more use


@pytest.mark.integration
def test_set_first_epoch():
    network = model()

    class Begin(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            keras_private.set_first_epoch(self.model, 2)

        def on_epoch_begin(self, epoch, logs=None):
            keras_private.set_first_epoch(self.model, None)

    assert network.fit(*data(), epochs=4, verbose=0, callbacks=[Begin()]).epoch == [2, 3]
    assert network.fit(*data(), epochs=2, verbose=0).epoch == [0, 1]


def test_optimized_variables():
    optimizer, weight = keras.optimizers.Adam(), keras.Variable([1.0])
    optimizer.build([weight])
    (found,) = keras_private.optimized_variables(optimizer)
    assert found is weight
    assert all(v is not weight for v in optimizer.variables)


def test_adam_moments():
    optimizer, weights = keras.optimizers.AdamW(1.0, weight_decay=0.0), [keras.Variable([1.0]), keras.Variable([2.0])]
    optimizer.apply([np.array([0.0], "float32"), np.array([4.0], "float32")], weights)
    variables = [weight.value if keras.backend.backend() == "tensorflow" else weight for weight in weights]
    first, second = keras_private.adam_moments(optimizer, variables[1])
    assert float(first[0]) == pytest.approx(0.4) and float(second[0]) == pytest.approx(0.016)
    assert float(keras_private.adam_moments(optimizer, variables[0])[0][0]) == 0.0


def test_is_decayed():
    optimizer, weights = keras.optimizers.AdamW(1.0), [keras.Variable([1.0], name="bias"), keras.Variable([2.0])]
    optimizer.exclude_from_weight_decay(var_names=["bias"])
    optimizer.build(weights)
    variables = [weight.value if keras.backend.backend() == "tensorflow" else weight for weight in weights]
    assert [keras_private.is_decayed(optimizer, variable) for variable in variables] == [False, True]


@only_tensorflow
def test_supports_no_merge_call():
    assert keras_private.supports_no_merge_call() in (True, False)


@only_tensorflow
def test_input_datasets():
    import tensorflow as tf

    numbers = tf.data.Dataset.range(3)
    assert keras_private.input_datasets(numbers) == []
    (source,) = keras_private.input_datasets(numbers.take(1))
    assert source is numbers
    assert len(keras_private.input_datasets(tf.data.Dataset.zip(numbers, numbers))) == 2


@only_tensorflow
def test_function_graph():
    import tensorflow as tf

    inner = tf.function(lambda x: x + 1.0)
    graph = tf.function(lambda: inner(tf.constant([1.0, 2.0]))).get_concrete_function().graph
    (call,) = [operation for operation in graph.get_operations() if "PartitionedCall" in operation.type]
    inside = keras_private.function_graph(graph, call.get_attr("f").name)
    assert [tuple(tensor.shape) for tensor in (*inside.inputs, *inside.outputs)] == [(2,), (2,)]


@pytest.mark.parametrize(
    ("base", "method", "gradient"),
    [
        (keras.optimizers.AdamW, "_apply_weight_decay", 1.0),
        (keras.optimizers.AdamW, "update_step", 1.0),
        pytest.param(keras.optimizers.AdamW, "_all_reduce_sum_gradients", 1.0, marks=only_tensorflow),
        pytest.param(
            *(keras.optimizers.LossScaleOptimizer, "_stateful_handle_non_finite_grads", np.inf), marks=only_tensorflow
        ),
    ],
    ids=["AdamW decay", "AdamW step", "AdamW sum", "LossScaleOptimizer"],
)
def test_methods_that_our_optimizers_override_are_called(base, method, gradient):
    """`training.optimizer.AdamW` and `training.loss_scale.LossScaleOptimizer` define them anew."""
    calls = []

    class Counting(base):
        pass

    def count(self, *arguments):
        calls.append(1)
        return getattr(base, method)(self, *arguments)

    setattr(Counting, method, count)
    optimizer = Counting(*([keras.optimizers.SGD()] if base is keras.optimizers.LossScaleOptimizer else []))
    optimizer.apply([np.full(1, gradient, "float32")], [keras.Variable([1.0])])
    assert calls


@only_tensorflow
def test_eager_mode_leaves_any_graph():
    import tensorflow as tf

    def double():
        with keras_private.eager_mode():
            return int(tf.constant(2) * 2)

    with tf.Graph().as_default():
        assert double() == 4
    found = []
    tf.function(lambda: found.append(double()))()
    assert found == [4]


def test_masks_that_keras_carries():
    """On eager tensors, and on those of a call inside a layer."""
    x = keras.layers.Masking()(np.array([[[1.0], [0.0]]], "float32"))
    np.testing.assert_array_equal(to_numpy(keras_private.mask_of(x)), [[True, False]])
    other = keras.ops.multiply(x, 2.0)
    assert keras_private.mask_of(other) is None
    np.testing.assert_array_equal(
        to_numpy(keras_private.mask_of(keras_private.with_mask(other, keras_private.mask_of(x)))), [[True, False]]
    )
    layer = keras.layers.Lambda(lambda x: keras_private.mask_of(x), output_shape=(2,))
    layer.supports_masking = True
    np.testing.assert_array_equal(to_numpy(layer(x)), [[True, False]])


def test_a_mask_that_keras_removed():
    """By `keras.layers.MultiHeadAttention`, from its inputs; `None` where there may have been no mask."""
    array, attend = np.array([[[1.0], [0.0]]], "float32"), keras.layers.MultiHeadAttention(1, 1)
    x, other, unread = keras.layers.Masking()(array), keras.ops.convert_to_tensor(array), keras.ops.add(array, 1)
    keras_private.mark_masked(x)
    assert keras_private.mask_is_removed(x) is keras_private.mask_is_removed(unread) is False
    attend(x, x), attend(other, other)
    assert keras_private.mask_is_removed(x) is True and keras_private.mask_is_removed(other) is None
    assert keras_private.mask_is_removed(array) is False
    copied = keras_private.with_mask_of(keras.ops.multiply(x, 2.0), x)
    assert keras_private.mask_is_removed(copied) is True


@pytest.mark.parity
def test_inner_layers_of_keras_hub():
    import keras_hub

    from keras_transformers.layers.blocks.copy_weights import SUBLAYERS

    layer = keras_hub.layers.TransformerDecoder(8, 2)
    layer(np.ones((1, 3, 4)), np.ones((1, 2, 4)))
    for name in SUBLAYERS.values():
        assert isinstance(keras_private.hub_sublayer(layer, name), keras.layers.Layer)
        assert keras_private.hub_sublayer(keras.layers.Dense(2), name) is None


@pytest.mark.parametrize("attribute", ["num_processes", "_num_process"])
def test_num_processes(attribute):
    """By the name of this version of Keras, and by that of 3.12."""
    assert keras_private.num_processes(SimpleNamespace(**{attribute: 3})) == 3
