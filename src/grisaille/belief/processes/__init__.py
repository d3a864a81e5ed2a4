"""What we believe of one black box: kernels, learned hyper-parameters, the fast posterior."""
