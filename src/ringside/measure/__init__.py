"""What makes trials: plan, blocks, stopping, runner, toolchain, host."""
