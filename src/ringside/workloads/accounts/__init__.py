"""Accounts: units transfer amounts between shared accounts, while auditors add all of them up
(docs/PROTOCOL.md, `accounts`)."""

from ringside.workloads.accounts.workload import ACCOUNTS as ACCOUNTS
