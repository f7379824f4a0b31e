// The programs of the guide in all languages: how to read the error object, how to follow `Link` from page to page, and how to
// change an animal that others may change too. They are complete, so that a reader can run them.

import { type Language, withClient } from './languages.ts'
import { KEY_VARIABLE } from './sample-request.ts'

type GuideSamples = Readonly<Record<Language['id'], (baseUrl: string) => string>>

/** The statuses after which a sample tries again, as our client does. */
const RETRIED = [408, 429, 502, 503, 504].join(', ')

/** How often a sample sends a request that gets no answer. The pauses between add up to half a minute. */
const ATTEMPTS = 6

/** How often a sample looks at an animal that others change all the time. */
const ROUNDS = 5

export const ERROR_SAMPLES: GuideSamples = {
  curl: baseUrl => `if ! answer=$(curl --silent --show-error --fail-with-body '${baseUrl}/pets?limit=0' \\
  -H "Authorization: Bearer $${KEY_VARIABLE}"); then
  echo "$answer"
fi`,

  typescript: baseUrl => `import { AnimalStore, AnimalStoreError } from 'animal-store-client'

const store = new AnimalStore({
  baseUrl: '${baseUrl}',
  apiKey: process.env.${KEY_VARIABLE} ?? '',
})
try {
  await store.listAnimals({ limit: 0 })
} catch (error) {
  if (!(error instanceof AnimalStoreError)) throw error
  console.log(error.status, error.code, error.message)
}`,

  javascript: baseUrl => `const response = await fetch('${baseUrl}/pets?limit=0', {
  headers: { Authorization: \`Bearer \${process.env.${KEY_VARIABLE}}\` },
})
if (!response.ok) {
  const { code, message } = await response.json()
  console.log(response.status, code, message)
}`,

  python: baseUrl => `import json
import os
import urllib.error
import urllib.request

request = urllib.request.Request(
    "${baseUrl}/pets?limit=0",
    headers={"Authorization": "Bearer " + os.environ["${KEY_VARIABLE}"]},
)
try:
    urllib.request.urlopen(request)
except urllib.error.HTTPError as error:
    answer = json.load(error)
    print(error.code, answer["code"], answer["message"])`,

  go: baseUrl => `package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
)

func main() {
	request, err := http.NewRequest("GET", "${baseUrl}/pets?limit=0", nil)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("${KEY_VARIABLE}"))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode >= 400 {
		var answer struct{ Code, Message string }
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
			log.Fatal(err)
		}
		fmt.Println(response.StatusCode, answer.Code, answer.Message)
	}
}`,
}

export const PAGING_SAMPLES: GuideSamples = {
  curl: baseUrl => `url='${baseUrl}/pets'
while [ "$url" ]; do
  curl --silent --show-error --fail-with-body --dump-header headers.txt --write-out '\\n' "$url" \\
    -H "Authorization: Bearer $${KEY_VARIABLE}" || break
  next=$(sed -n 's/^[Ll]ink:.*<\\([^>]*\\)>; rel="next".*/\\1/p' headers.txt)
  url=\${next:+'${new URL(baseUrl).origin}'$next}
done`,

  typescript: baseUrl =>
    withClient(
      baseUrl,
      '// Follows the links by itself.',
      'for await (const animal of store.animals()) console.log(animal.id, animal.name)',
    ),

  javascript: baseUrl => `const headers = { Authorization: \`Bearer \${process.env.${KEY_VARIABLE}}\` }
let url = '${baseUrl}/pets'
while (url) {
  const response = await fetch(url, { headers })
  if (!response.ok) throw new Error(await response.text())
  // Numbers above 2 ** 53 are rounded here.
  for (const animal of await response.json()) console.log(animal.id, animal.name)
  const [, next] = /<([^>]*)>; rel="next"/.exec(response.headers.get('link')) ?? []
  url = next && new URL(next, url).href
}`,

  python: baseUrl => `import json
import os
import re
import urllib.error
import urllib.parse
import urllib.request

headers = {"Authorization": "Bearer " + os.environ["${KEY_VARIABLE}"]}
url = "${baseUrl}/pets"
while url:
    request = urllib.request.Request(url, headers=headers)
    try:
        response = urllib.request.urlopen(request)
    except urllib.error.HTTPError as error:
        raise SystemExit(error.read().decode())
    for animal in json.load(response):
        print(animal["id"], animal["name"])
    following = re.search('<([^>]*)>; rel="next"', response.headers.get("Link", ""))
    url = following and urllib.parse.urljoin(url, following[1])`,

  go: baseUrl => `package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"regexp"
)

var next = regexp.MustCompile(\`<([^>]*)>; rel="next"\`)

func main() {
	request, err := http.NewRequest("GET", "${baseUrl}/pets", nil)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("${KEY_VARIABLE}"))
	for {
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			log.Fatal(err)
		}
		if response.StatusCode != 200 {
			answer, _ := io.ReadAll(response.Body)
			log.Fatal(string(answer))
		}
		var animals []struct {
			ID   int64
			Name string
		}
		err = json.NewDecoder(response.Body).Decode(&animals)
		response.Body.Close()
		if err != nil {
			log.Fatal(err)
		}
		for _, animal := range animals {
			fmt.Println(animal.ID, animal.Name)
		}
		link := next.FindStringSubmatch(response.Header.Get("Link"))
		if link == nil {
			return
		}
		if request.URL, err = request.URL.Parse(link[1]); err != nil {
			log.Fatal(err)
		}
	}
}`,
}

/**
 * Looks at an animal, and changes it only if it is still the same. Each retry has the key of its first attempt. Without a tag it
 * changes nothing. curl looks once; the others give up after some rounds, because the tag may never match, as behind a proxy that
 * compresses the answers.
 */
export const CHANGE_SAMPLES: GuideSamples = {
  curl: baseUrl => `change() {
  : > answer.json
  code=$(curl --silent --show-error --output answer.json --write-out '%{http_code}' \\
    --max-time 10 --retry 5 --retry-all-errors -X PATCH '${baseUrl}/pets/1' \\
    -H "Authorization: Bearer $${KEY_VARIABLE}" \\
    -H 'Content-Type: application/merge-patch+json' "$@")
  cat answer.json; echo
  [ "$code" = 200 ]
}
change --dump-header headers.txt --data-raw '{}' &&
  tag=$(sed -n 's/^[Ee][Tt]ag: *\\(.*"\\).*/\\1/p' headers.txt | tail -n 1) &&
  change -H "If-Match: \${tag:?The answer has no ETag.}" -H "Idempotency-Key: $(date +%s)-$$" \\
    --data-raw '{"name": "Bella (vaccinated)"}'`,

  typescript: baseUrl => `import { AnimalStore, AnimalStoreError } from 'animal-store-client'

const store = new AnimalStore({
  baseUrl: '${baseUrl}',
  apiKey: process.env.${KEY_VARIABLE} ?? '',
})
for (let round = 1; ; round++) {
  const { name, etag } = await store.updateAnimal(1n, {})
  if (!etag) throw new Error('The answer has no ETag.')
  try {
    const changes = { name: \`\${name} (vaccinated)\` }
    // Retries with the same Idempotency-Key by itself.
    console.log(await store.updateAnimal(1n, changes, { ifMatch: etag }))
    break
  } catch (error) {
    // Somebody was faster: look again.
    const isOutdated = error instanceof AnimalStoreError && error.code === 'precondition_failed'
    if (!isOutdated || round === ${ROUNDS}) throw error
  }
}`,

  javascript: baseUrl => `async function change(changes, condition) {
  const request = {
    method: 'PATCH',
    headers: {
      Authorization: \`Bearer \${process.env.${KEY_VARIABLE}}\`,
      'Content-Type': 'application/merge-patch+json',
      'Idempotency-Key': crypto.randomUUID(),
      ...condition,
    },
    body: JSON.stringify(changes),
  }
  for (let attempt = 1; ; attempt++) {
    let seconds = 2 ** (attempt - 1)
    try {
      const signal = AbortSignal.timeout(10_000)
      const response = await fetch('${baseUrl}/pets/1', { ...request, signal })
      const { status, headers } = response
      const answer = await response.text()
      const isLast = attempt === ${ATTEMPTS} || ![${RETRIED}].includes(status)
      if (isLast) return { status, tag: headers.get('etag'), answer }
      seconds = headers.get('retry-after') ?? seconds
    } catch (error) {
      if (attempt === ${ATTEMPTS}) throw error
      console.error(error.cause ?? error)
    }
    await new Promise(resolve => setTimeout(resolve, seconds * 1000))
  }
}

for (let round = 1; ; round++) {
  const seen = await change({})
  if (seen.status !== 200) throw new Error(\`\${seen.status} \${seen.answer}\`)
  if (!seen.tag) throw new Error('The answer has no ETag.')
  const { name } = JSON.parse(seen.answer)
  const changed = await change({ name: \`\${name} (vaccinated)\` }, { 'If-Match': seen.tag })
  if (changed.status === 200) {
    console.log(changed.answer)
    break
  }
  // 412: somebody was faster, so look again.
  if (changed.status !== 412 || round === ${ROUNDS}) throw new Error(\`\${changed.status} \${changed.answer}\`)
}`,

  python: baseUrl => `import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request
from uuid import uuid4

def change(changes, condition={}):
    request = urllib.request.Request(
        "${baseUrl}/pets/1",
        method="PATCH",
        headers={
            "Authorization": "Bearer " + os.environ["${KEY_VARIABLE}"],
            "Content-Type": "application/merge-patch+json",
            "Idempotency-Key": str(uuid4()),
            **condition,
        },
        data=json.dumps(changes).encode(),
    )
    for attempt in range(1, ${ATTEMPTS + 1}):
        seconds = 2 ** (attempt - 1)
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                return json.load(response), response.headers["ETag"]
        except urllib.error.HTTPError as error:
            if attempt == ${ATTEMPTS} or error.code not in (${RETRIED}):
                raise
            seconds = int(error.headers.get("Retry-After", seconds))
        except (OSError, http.client.HTTPException) as error:
            if attempt == ${ATTEMPTS}:
                raise
            print(error, file=sys.stderr)
        time.sleep(seconds)

for round in range(1, ${ROUNDS + 1}):
    try:
        animal, tag = change({})
        if tag is None:
            raise SystemExit("The answer has no ETag.")
        changed, tag = change({"name": animal["name"] + " (vaccinated)"}, {"If-Match": tag})
        print(changed)
        break
    except urllib.error.HTTPError as error:
        # 412: somebody was faster, so look again.
        if error.code != 412 or round == ${ROUNDS}:
            raise SystemExit(f"{error.code} {error.read().decode()}")`,

  go: baseUrl => `package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

var client = http.Client{Timeout: 10 * time.Second}

var retried = []int{${RETRIED}}

// change returns the status, the tag and the body of the answer.
func change(changes map[string]string, tag string) (int, string, []byte) {
	body, _ := json.Marshal(changes)
	key := make([]byte, 16)
	rand.Read(key)
	for attempt := 1; ; attempt++ {
		request, err := http.NewRequest("PATCH", "${baseUrl}/pets/1", strings.NewReader(string(body)))
		if err != nil {
			log.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+os.Getenv("${KEY_VARIABLE}"))
		request.Header.Set("Content-Type", "application/merge-patch+json")
		request.Header.Set("Idempotency-Key", fmt.Sprintf("%x", key))
		if tag != "" {
			request.Header.Set("If-Match", tag)
		}
		wait := time.Second << (attempt - 1)
		response, err := client.Do(request)
		if err == nil {
			var answer []byte
			answer, err = io.ReadAll(response.Body)
			response.Body.Close()
			isLast := attempt == ${ATTEMPTS} || !slices.Contains(retried, response.StatusCode)
			if err == nil && isLast {
				return response.StatusCode, response.Header.Get("ETag"), answer
			}
			if seconds, err := time.ParseDuration(response.Header.Get("Retry-After") + "s"); err == nil {
				wait = seconds
			}
		}
		if attempt == ${ATTEMPTS} {
			log.Fatal(err)
		}
		if err != nil {
			log.Print(err)
		}
		time.Sleep(wait)
	}
}

func main() {
	for round := 1; ; round++ {
		status, tag, answer := change(map[string]string{}, "")
		var animal struct{ Name string }
		if err := json.Unmarshal(answer, &animal); err != nil || status != 200 {
			log.Fatal(status, " ", string(answer))
		}
		if tag == "" {
			log.Fatal("The answer has no ETag.")
		}
		changes := map[string]string{"name": animal.Name + " (vaccinated)"}
		status, _, answer = change(changes, tag)
		if status == 200 {
			fmt.Println(string(answer))
			return
		}
		// 412: somebody was faster, so look again.
		if status != 412 || round == ${ROUNDS} {
			log.Fatal(status, " ", string(answer))
		}
	}
}`,
}
