// What the service uses of node:http. `import` reads every export of a module. One of node:http is WebSocket, which loads Undici
// and takes more time and memory than all of the server (bench/notes.md).

export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http')
