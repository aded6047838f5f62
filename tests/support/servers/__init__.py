"""Real servers: installed by `lab`, started and asked by `servers`, broken by `proxy`."""
