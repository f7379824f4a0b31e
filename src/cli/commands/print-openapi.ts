// `animal-store openapi`: prints the OpenAPI document.

import { openApiDocument } from '../../http/api/openapi-document.ts'
import { renderJson } from '../../json.ts'
import { command, print } from '../command.ts'
import { SETTINGS } from '../settings.ts'

const LOCAL_URL = `http://${SETTINGS.host.default}:${SETTINGS.port.default}/v1`

export const printOpenapi = command({
  name: 'openapi',
  summary: 'Print the OpenAPI document.',
  settings: ['productionUrl', 'stagingUrl'],
  defaults: { productionUrl: LOCAL_URL, stagingUrl: 'none' },
  examples: ['openapi > openapi.json'],
  async run({ productionUrl = LOCAL_URL, stagingUrl }, _operands, { stdout }) {
    await print(stdout, renderJson(openApiDocument({ production: productionUrl, staging: stagingUrl }), 2))
  },
})
