// Contender: json-server, with all animals in memory and in one JSON file.

import jsonServer from 'json-server'

const app = jsonServer.create()
app.use(jsonServer.defaults({ logger: false }))
app.use(jsonServer.router(process.env.DATABASE))
app.listen(Number(process.env.PORT), '127.0.0.1')
