"""Accounts: units transfer amounts between shared accounts, and auditors add all of them up beside
(docs/PROTOCOL.md, `accounts`)."""

from ringside.workloads.accounts.workload import ACCOUNTS as ACCOUNTS
