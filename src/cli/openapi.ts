// `animal-store openapi`: prints the OpenAPI document.

import { openApiDocument } from '../http/openapi.ts'
import { renderJson } from '../json.ts'
import { command } from './command.ts'

export const openapi = command({
  name: 'openapi',
  summary: 'Print the OpenAPI document.',
  settings: ['productionUrl', 'stagingUrl'],
  async run({ productionUrl = 'http://127.0.0.1:8080/v1', stagingUrl }, _operands, { out }) {
    out(renderJson(openApiDocument({ production: productionUrl, staging: stagingUrl }), 2))
  },
})
