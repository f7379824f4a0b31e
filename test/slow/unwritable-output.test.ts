// Output that cannot be written: the service keeps serving, drops log lines, and later logs how many were lost.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, readFileSync, readSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { createLogOutput } from '../../src/cli/service/log-stream.ts'
import { MAIN, type Running, serve } from '../support/command.ts'
import { childrenOf } from '../support/processes.ts'
import { API_KEY, client, temporaryFolder } from '../support/service.ts'
import { waitUntil } from '../support/wait.ts'

/** In units of 512 bytes, as POSIX defines `ulimit -f`. The database stays far below it. */
const MAX_FILE_BLOCKS = 2_048
const MAX_FILE_BYTES = MAX_FILE_BLOCKS * 512

/** Starts the service below a shell that redirects its output. */
function serveWith(
  t: TestContext,
  redirection: string,
  args: readonly string[] = [],
  cwd = temporaryFolder(),
) {
  return serve(t, ['--shutdown-delay', '0s', ...args], {
    cwd,
    env: { ANIMAL_STORE_API_KEY: API_KEY },
    program: ['sh', '-c', redirection, 'sh', process.execPath, MAIN],
    isGroup: true,
  })
}

async function sendTwenty(t: TestContext, address: string): Promise<void> {
  for (let count = 0; count < 20; count++) {
    // Each on its own connection, so that every worker gets some.
    const { send, close } = client(address)
    t.after(close)
    assert.equal((await send('GET', '/v1/pets')).status, 200)
  }
}

async function stopInOrder({ child, ended }: Running): Promise<void> {
  child.kill('SIGTERM')
  assert.equal((await ended).code, 0)
}

/** Closes the reading end, as `head` does. */
function closePipe(child: Running['child'], name: 'stdout' | 'stderr'): void {
  child[name]?.destroy()
}

suite('the service keeps serving', { concurrency: 3 }, () => {
  test('if the disk of its log is full', async t => {
    const running = await serveWith(t, 'exec "$@" > /dev/full')
    await sendTwenty(t, running.address)
    await stopInOrder(running)
  })

  test('if the readers of the log and of the messages of two workers are gone', async t => {
    const running = await serveWith(t, 'exec "$@"', ['--workers', '2'])
    const { address, child } = running
    closePipe(child, 'stdout')
    closePipe(child, 'stderr')
    await sendTwenty(t, address)
    const [killed] = childrenOf(child.pid)
    // The primary prints a message about this.
    process.kill(Number(killed), 'SIGKILL')
    const isReplaced = () => {
      const workers = childrenOf(child.pid)
      return workers.length === 2 && !workers.includes(Number(killed))
    }
    await waitUntil(isReplaced, { what: 'the worker is replaced' })
    await sendTwenty(t, address)
    await stopInOrder(running)
  })

  test('if the disk fills up, and logs later how many lines were dropped', async t => {
    const cwd = temporaryFolder()
    const log = join(cwd, 'log')
    // Only a part of the next line fits.
    writeFileSync(log, '\n'.repeat(MAX_FILE_BYTES - 20))
    const running = await serveWith(t, `ulimit -f ${MAX_FILE_BLOCKS}; exec "$@" >> log`, [], cwd)
    await sendTwenty(t, running.address)
    const isCut = () => /\n\{"level":30,"time":\d+$/.test(readFileSync(log, 'utf8'))
    await waitUntil(isCut, { what: 'a part of a line is written' })
    truncateSync(log)
    await sendTwenty(t, running.address)
    await stopInOrder(running)
    const lines = readFileSync(log, 'utf8')
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line))
    const logged = lines.filter(({ msg }) => msg === 'request').length
    // The last line of the first twenty may come after the disk has space again: lines are written after the answer.
    assert.ok(logged >= 20, `${logged} lines`)
    const [notice, ...others] = lines.filter(({ msg }) => msg === 'log lines were dropped')
    assert.deepEqual(others, [])
    // One line says where it listens.
    assert.equal(logged + notice.dropped, 1 + 40)
  })
})

test('lines are dropped while the reader of a pipe does not read, so that they do not fill the memory', async t => {
  const path = join(temporaryFolder(), 'pipe')
  execFileSync('mkfifo', [path])
  // Both ends, so that the pipe is open without a reader. Node.js makes the pipe of its output non-blocking, too.
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
  t.after(() => closeSync(fd))
  const output = createLogOutput({ fd })
  const line = `{"level":30,"msg":"${'x'.repeat(1_000)}"}\n`
  for (let count = 0; count < 10_000; count++) output.write(line)
  assert.ok(output.droppedLines() > 5_000)
  // It does not wait for the reader for ever.
  await output.flush()
  // The reader reads again.
  let text = ''
  const buffer = Buffer.alloc(64 * 1024)
  const isReported = () => {
    try {
      text += buffer.toString('utf8', 0, readSync(fd, buffer))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    }
    return text.includes('"msg":"log lines were dropped"')
  }
  await waitUntil(isReported, { what: 'the loss is logged' })
  assert.ok(text.includes(`"dropped":${output.droppedLines()},`))
})
