"""Makes trials: plan, blocks, stopping, runner, toolchain, host."""
