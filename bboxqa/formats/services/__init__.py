"""Exports of labelling services: SageMaker Ground Truth and Labelbox."""
