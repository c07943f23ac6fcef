"""Accounts: units transfer amounts between shared accounts, while auditors add all of them up."""
