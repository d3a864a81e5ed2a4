"""Beliefs about one black box: kernels, learned hyper-parameters, posteriors."""
