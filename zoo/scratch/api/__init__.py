"""The functions `zoo.new` and `zoo.train_further`."""
