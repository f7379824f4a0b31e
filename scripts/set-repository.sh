#!/usr/bin/env bash
# Writes the address of the repository to both packages: scripts/set-repository.sh https://github.com/OWNER/NAME
set -euo pipefail
npm pkg set "repository.url=git+$1.git" "homepage=$1#readme" "bugs.url=$1/issues" --workspaces --include-workspace-root
