#!/usr/bin/env bash
# Removes "(not yet published)" from the documentation of both packages, because their first version is being published.
set -euo pipefail
sed --in-place 's/ (not yet published)//' docs/*.md client/README.md
