// The programs of the guide in all languages: how to read the error object, and how to follow `Link` from page to page.
// They are complete, so that a reader can run them.

import { type Language, withClient } from './languages.ts'
import { KEY_VARIABLE } from './sample-request.ts'

type GuideSamples = Readonly<Record<Language['id'], (baseUrl: string) => string>>

export const ERROR_SAMPLES: GuideSamples = {
  curl: baseUrl => `if ! answer=$(curl --silent --fail-with-body '${baseUrl}/pets?limit=0' \\
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
  curl --silent --fail-with-body --dump-header headers.txt "$url" \\
    -H "Authorization: Bearer $${KEY_VARIABLE}" || break
  path=$(sed -n 's/^[Ll]ink:.*<\\([^>]*\\)>; rel="next".*/\\1/p' headers.txt)
  url=\${path:+'${new URL(baseUrl).origin}'$path}
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
