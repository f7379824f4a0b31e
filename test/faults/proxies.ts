// HAProxy and nginx in front of a service, on loopback, with a configuration in a temporary folder. Both reuse their
// connections to the service for all clients, which is what makes smuggling dangerous.

import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../support/postgres.ts'
import { type Scope, temporaryFolder } from '../support/service.ts'
import { waitUntil } from '../support/wait.ts'
import { isAnswered } from './processes.ts'

export interface ReverseProxy {
  readonly address: string
  /** Returns the statuses that the service sent, as the proxy logged them. */
  forwarded(): Promise<number[]>
}

const FOLDERS = ['/usr/sbin', '/usr/local/sbin', '/usr/bin', '/usr/local/bin', '/opt/homebrew/bin']

export function startHaproxy(scope: Scope, backend: string): Promise<ReverseProxy | undefined> {
  return startProxy(scope, {
    program: 'haproxy',
    args: file => ['-db', '-f', file],
    // The status is the service's own if the session ended normally and a server was chosen.
    forwardedLine: /^(\d+) -- s$/gm,
    config: port => `
global
  log stdout format raw daemon
defaults
  mode http
  log global
  log-format "%ST %ts %s"
  timeout connect 5s
  timeout client 30s
  timeout server 30s
  retries 0
  http-reuse always
frontend f
  bind 127.0.0.1:${port}
  default_backend b
backend b
  server s ${new URL(backend).host}
`,
  })
}

export function startNginx(scope: Scope, backend: string): Promise<ReverseProxy | undefined> {
  return startProxy(scope, {
    program: 'nginx',
    args: file => ['-c', file],
    forwardedLine: /^(\d+)$/gm,
    config: (port, folder) => `
daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
events { worker_connections 512; }
http {
  log_format upstream '$upstream_status';
  access_log ${folder}/log upstream;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  upstream service { server ${new URL(backend).host}; keepalive 8; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://service;
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header Connection "";
      proxy_request_buffering off;
      proxy_next_upstream off;
    }
  }
}
`,
  })
}

interface ProxyOptions {
  readonly program: string
  readonly args: (configFile: string) => string[]
  readonly config: (port: number, folder: string) => string
  /** Matches each line of the log for a request that the service answered. The first group is the status. */
  readonly forwardedLine: RegExp
}

async function startProxy(
  scope: Scope,
  { program, args, config, forwardedLine }: ProxyOptions,
): Promise<ReverseProxy | undefined> {
  const path = FOLDERS.map(folder => join(folder, program)).find(existsSync)
  if (path === undefined) return undefined
  const folder = temporaryFolder(scope)
  const port = await freePort()
  const file = join(folder, 'config')
  writeFileSync(file, config(port, folder))
  const child = spawn(path, args(file), { stdio: ['ignore', 'pipe', 'pipe'] })
  const kill = () => child.kill('SIGKILL')
  scope.after(kill)
  // In case the experiment fails.
  process.once('exit', kill)
  const printed = { log: '', errors: '' }
  child.stdout.setEncoding('utf8').on('data', text => {
    printed.log += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    printed.errors += text
  })
  const readLog = () =>
    existsSync(join(folder, 'log')) ? readFileSync(join(folder, 'log'), 'utf8') : printed.log
  const address = `http://127.0.0.1:${port}`
  const isUp = async () => {
    if (child.exitCode !== null) throw new Error(`${program} does not start: ${printed.errors}`)
    return isAnswered(address)
  }
  await waitUntil(isUp, { what: `${program} answers` })
  return {
    address,
    async forwarded() {
      // A request is logged after its response was sent, so the log is complete once it stops growing.
      await stable(() => readLog().length)
      return [...readLog().matchAll(forwardedLine)].map(([, status]) => Number(status))
    },
  }
}

async function stable(measure: () => number): Promise<void> {
  let last = -1
  let changedAt = performance.now()
  const isStable = () => {
    const now = measure()
    if (now !== last) changedAt = performance.now()
    last = now
    return performance.now() - changedAt > 500
  }
  await waitUntil(isStable, { what: 'the log of the proxy is complete' })
}
