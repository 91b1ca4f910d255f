import gc

import pytest
import tensorflow as tf

from keras_transformers.text.graph.models.lookup_tables import lookup_table


def make() -> tf.lookup.StaticHashTable:
    return lookup_table(["a", "b"], [1, 2], tf.string, tf.int32, -1)


def test_a_table_is_freed():
    table = make()
    handle = tf.identity(table.resource_handle)
    assert tf.raw_ops.LookupTableSizeV2(table_handle=handle) == 2
    del table
    gc.collect()
    with pytest.raises(tf.errors.NotFoundError):
        tf.raw_ops.LookupTableSizeV2(table_handle=handle)


def test_a_function_keeps_its_table():
    table = make()
    function = tf.function(table.lookup).get_concrete_function(tf.TensorSpec([None], tf.string))
    del table
    gc.collect()
    assert function(tf.constant(["b", "c"])).numpy().tolist() == [2, -1]


def test_a_data_set_keeps_its_table():
    dataset = tf.data.Dataset.from_tensors(["b", "c"]).map(make().lookup)
    gc.collect()
    assert [row.tolist() for row in dataset.as_numpy_iterator()] == [[2, -1]]


def test_a_table_may_be_freed_while_a_graph_is_built():
    tables = [make()]
    handle = tf.identity(tables[0].resource_handle)

    @tf.function
    def trace():
        tables.clear()
        gc.collect()

    trace()
    with pytest.raises(tf.errors.NotFoundError):
        tf.raw_ops.LookupTableSizeV2(table_handle=handle)


def test_a_table_may_be_freed_inside_a_graph_of_tensorflow_1(capsys):
    """As `tf.saved_model.save` builds one."""
    tables = [make()]
    handle = tf.identity(tables[0].resource_handle)
    with tf.Graph().as_default():
        tables.clear()
        gc.collect()
    with pytest.raises(tf.errors.NotFoundError):
        tf.raw_ops.LookupTableSizeV2(table_handle=handle)
    assert not capsys.readouterr().err


def test_the_table_of_a_loaded_export_is_not_freed_with_the_one_it_was_saved_from(tmp_path):
    module = tf.Module()
    module.table = make()
    module.serve = tf.function(module.table.lookup, input_signature=[tf.TensorSpec([None], tf.string)])
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    del module
    gc.collect()
    assert loaded.serve(tf.constant(["b", "c"])).numpy().tolist() == [2, -1]
