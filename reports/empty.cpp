// Placeholder until the sources of this folder are listed.
