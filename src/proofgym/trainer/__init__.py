"""Gradient training of the policy. It knows nothing of advantages, losses or the loop."""
