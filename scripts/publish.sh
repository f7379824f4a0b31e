#!/usr/bin/env bash
# Publishes packed packages on the npm registry: scripts/publish.sh FILE… It skips those that are published already, so
# that a release that failed half-way can be run again.
set -euo pipefail
for file in "$@"; do
  package=$(tar -xzOf "$file" package/package.json |
    node -p 'const { name, version } = JSON.parse(fs.readFileSync(0)); `${name}@${version}`')
  integrity=sha512-$(openssl dgst -sha512 -binary "$file" | openssl base64 -A)
  # Nothing if it is not published. If the registry cannot be reached, publishing fails too, and says why.
  published=$(npm view "$package" dist.integrity 2> /dev/null || true)
  if [ -z "$published" ]; then
    npm publish "$file" --access public
  elif [ "$published" = "$integrity" ]; then
    echo "$package is published already."
  else
    echo "$package is published already, with other contents than $file." >&2
    exit 1
  fi
done
