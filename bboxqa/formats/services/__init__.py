"""Exports of labelling services: SageMaker Ground Truth, Labelbox and Zooniverse."""
