"""Ready observers for `observe`: what contracts cost and find, beside the curves of the training run."""

from batchpact.contracts.events.observers import StepObserver, to_tensorboard, to_wandb

__all__ = ["StepObserver", "to_tensorboard", "to_wandb"]
