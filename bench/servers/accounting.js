// Loaded into every contender before its own code: tells, when asked, what the process has used so far, and ends it.

process.on('message', message => {
  if (message === 'end') process.exit()
  if (message !== 'usage') return
  const { user, system } = process.cpuUsage()
  process.send({ cpuMicros: user + system, rssBytes: process.memoryUsage.rss() })
})
// A benchmark that is broken off leaves nobody behind.
process.on('disconnect', () => process.exit())
// To be asked is no reason to stay.
process.channel?.unref()
