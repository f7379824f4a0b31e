#!/usr/bin/env bash
# Publishes packed packages on the npm registry: scripts/publish.sh FILE… It skips those that are published already, so
# that a release that failed half-way can be run again.
set -euo pipefail
for file in "$@"; do
  package=$(tar -xzOf "$file" package/package.json |
    node -p 'const { name, version } = JSON.parse(fs.readFileSync(0)); `${name}@${version}`')
  # If the registry cannot be reached, publishing fails too, and says why.
  if [ -n "$(npm view "$package" version 2> /dev/null || true)" ]; then
    echo "$package is published already."
  else
    npm publish "$file" --access public
  fi
done
