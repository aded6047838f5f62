"""What the tests share: servers, fakes, workloads and oracles."""
