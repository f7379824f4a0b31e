// What an operator does while the service runs: keys, imports, exports and backups. Each throws if the command fails.

import { createReadStream, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { parseJson } from '../../client/src/json.ts'
import { type Animal, isStatus } from '../../src/animal.ts'
import { type CommandOptions, run } from '../../test/support/command.ts'
import type { Scope } from '../../test/support/service.ts'

export interface Key {
  readonly id: string
  readonly key: string
}

export function createCommands(scope: Scope, options: CommandOptions) {
  async function command(...args: string[]): Promise<string> {
    const { code, out, err } = await run(scope, args, options)
    if (code !== 0) throw new Error(`animal-store ${args.join(' ')} failed: ${err}`)
    return out
  }

  return {
    async createKey(): Promise<Key> {
      return JSON.parse(await command('keys', 'create', '--name', 'soak', '--json'))
    },

    /** Returns the successor. The old key works for the overlap. */
    async rotateKey({ id }: Key, overlapSeconds: number): Promise<Key> {
      return JSON.parse(await command('keys', 'rotate', id, '--overlap', `${overlapSeconds}s`, '--json'))
    },

    async importAnimals(names: readonly string[]): Promise<void> {
      const file = join(options.cwd, 'import.jsonl')
      writeFileSync(file, names.map(name => `{"name":"${name}","categoryId":1}\n`).join(''))
      await command('import', file)
    },

    async exportAnimals(): Promise<Animal[]> {
      const file = join(options.cwd, 'export.jsonl')
      await command('export', file)
      const animals: Animal[] = []
      for await (const line of createInterface(createReadStream(file)))
        animals.push(parseJson(line) as Animal)
      rmSync(file)
      return animals
    },

    /** Returns the animals of the backup. */
    async backUp(): Promise<Animal[]> {
      const file = join(options.cwd, 'backup.db')
      await command('backup', file)
      const backup = new DatabaseSync(file, { readOnly: true, readBigInts: true })
      try {
        const result = backup.prepare('pragma integrity_check').get()?.integrity_check
        if (result !== 'ok') throw new Error(`the backup is corrupt: ${result}`)
        return backup
          .prepare('select id, name, category_id, status from animals')
          .all()
          .map(({ id, name, category_id, status }) => ({
            id: id as bigint,
            name: String(name),
            categoryId: category_id as bigint,
            ...(isStatus(status) && { status }),
          }))
      } finally {
        backup.close()
        rmSync(file)
      }
    },
  }
}
