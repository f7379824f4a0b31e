// The version of the client, which build.js copies from package.json.

export const VERSION = '1.2.0'
