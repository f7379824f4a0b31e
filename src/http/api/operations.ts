// The table of operations. Routing, `Allow`, CORS, metrics, logs and the tests of the OpenAPI document read it. docs/architecture.md
// says what a new operation needs.

export const OPERATIONS = [
  { id: 'listPets', method: 'GET', path: '/v1/pets', success: 200, isWrite: false },
  { id: 'createPet', method: 'POST', path: '/v1/pets', success: 201, isWrite: true },
  { id: 'getPet', method: 'GET', path: '/v1/pets/{petId}', success: 200, isWrite: false, deprecated: true },
  { id: 'updatePet', method: 'PATCH', path: '/v1/pets/{petId}', success: 200, isWrite: true },
  { id: 'deletePet', method: 'DELETE', path: '/v1/pets/{petId}', success: 204, isWrite: true },
  { id: 'getInventory', method: 'GET', path: '/v1/store/inventory', success: 200, isWrite: false },
] as const

/** getPet is deprecated since 15 November 2026, in the format of RFC 9745. */
export const DEPRECATED_SINCE = '@1794700800'

/** Written out here instead of formatted by `Intl`, which would take 7 MiB of memory at the start. */
export const REMOVAL_DATE = '5 December 2030'

export const REMOVED_AT = new Date(`${REMOVAL_DATE} UTC`)

export type OperationId = (typeof OPERATIONS)[number]['id']

/** Whether an operation will be removed. */
export function isDeprecated(id: string): boolean {
  return OPERATIONS.some(operation => operation.id === id && 'deprecated' in operation)
}

/** A method, and HEAD if it is GET: HEAD is answered like GET. */
export function withHead(method: string): string[] {
  return method === 'GET' ? ['GET', 'HEAD'] : [method]
}

/** The methods that a path supports if it has operations with these methods. */
export function allowedMethods(methods: readonly string[]): string {
  return [...new Set(methods.flatMap(withHead))].join(', ')
}
