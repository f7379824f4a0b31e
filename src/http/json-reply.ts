// JSON that is already text, sent as exactly `application/json`: Fastify would add a charset, which JSON has none of.

import type { FastifyReply } from 'fastify'

export function sendJson(reply: FastifyReply, status: number, json: string): FastifyReply {
  return reply.code(status).header('content-type', 'application/json').serializer(asItIs).send(json)
}

function asItIs(payload: unknown): string {
  return payload as string
}
