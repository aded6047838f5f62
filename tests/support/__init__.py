"""Code that the tests share: servers, fakes, workloads and oracles."""
