"""The parallel batch: a program computes T independent cases from one input and answers them in order."""
