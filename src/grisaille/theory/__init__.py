"""What the theorems promise: beta, information gain, Lipschitz constants, regret bounds."""
