"""gpuvet for the hosts people use: the skill, bundles, plugin, registry entry, deployments."""
