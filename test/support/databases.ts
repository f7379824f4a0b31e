// Runs a suite of tests on every database that the service supports.

import { join } from 'node:path'
import { suite } from 'node:test'
import type { ServiceOptions } from '../../src/cli/service/service.ts'
import type { DatabaseAddress } from '../../src/database/open.ts'
import { borrowDatabase } from './postgres.ts'
import { type Scope, startTestService, type TestService, temporaryFolder } from './service.ts'

type Open = (t: Scope) => Promise<DatabaseAddress>

const DATABASES: Record<string, Open> = {
  SQLite: async () => ({ kind: 'sqlite', path: join(temporaryFolder(), 'animals.db') }),
  PostgreSQL: async t => ({ kind: 'postgres', url: await borrowDatabase(t) }),
}

export type StartService = (t: Scope, options?: Partial<ServiceOptions>) => Promise<TestService>

export function onEveryDatabase(name: string, defineTests: (start: StartService) => void): void {
  for (const [database, open] of Object.entries(DATABASES)) {
    suite(`${name}, on ${database}`, () =>
      defineTests(async (t, options) => startTestService(t, { database: await open(t), ...options })))
  }
}
