// Samples for Java 17, with its standard library only.

import { KEY_VARIABLE, type SampleRequest } from './request.ts'

export function renderJava({ operationId, method, url, headers, body, apiKey }: SampleRequest): string {
  const className = operationId.charAt(0).toUpperCase() + operationId.slice(1)
  const key =
    apiKey === undefined ? `"Bearer " + System.getenv("${KEY_VARIABLE}")` : JSON.stringify(`Bearer ${apiKey}`)
  return [
    'import java.net.URI;',
    'import java.net.http.*;',
    '',
    `public class ${className} {`,
    '  public static void main(String[] args) throws Exception {',
    `    var request = HttpRequest.newBuilder(URI.create(${JSON.stringify(url)}))`,
    `        .header("Authorization", ${key})`,
    ...headers.map(([name, value]) => `        .header(${JSON.stringify(name)}, ${JSON.stringify(value)})`),
    ...(body === undefined ? [] : renderBody(method, body)),
    '        .build();',
    '    var response = HttpClient.newHttpClient()',
    '        .send(request, HttpResponse.BodyHandlers.ofString());',
    '    System.out.println(response.statusCode() + " " + response.body());',
    '  }',
    '}',
  ].join('\n')
}

/** A text block. Escapes backslashes, and the quotes that would end it: before another quote, and at the end. */
function renderBody(method: string, body: string): readonly string[] {
  const [...lines] = body.replace(/\\|"(?="|$)/g, '\\$&').split('\n')
  const last = lines.length - 1
  return [
    `        .method("${method}", HttpRequest.BodyPublishers.ofString("""`,
    ...lines.map((line, index) => `            ${line}${index === last ? '"""))' : ''}`),
  ]
}
