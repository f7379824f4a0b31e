// Loaded into every contender on Node.js before its own code: reports on request how much CPU time and memory the
// process has used.

process.on('message', message => {
  if (message !== 'usage') return
  const { user, system } = process.cpuUsage()
  process.send({ cpuMicros: user + system, rssBytes: process.memoryUsage.rss() })
})
// The benchmark closes the channel to stop a contender, and the system closes it when the benchmark is killed.
process.on('disconnect', () => process.exit())
// The channel alone must not keep alive a contender that failed to start.
process.channel?.unref()
