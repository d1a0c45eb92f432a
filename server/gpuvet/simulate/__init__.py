"""Log monitors of HyperPodPyTorchJob as the agent evaluates them; the clock is an argument."""
