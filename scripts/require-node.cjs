/* Exits with an explanation when Node is too old. Must run on any version of Node. */
'use strict'

const { engines } = require('../package.json')

const least = Number(/\d+/.exec(engines.node)[0])
if (Number(process.versions.node.split('.')[0]) < least) {
  process.stderr.write(
    `The gateway needs Node ${least} or later; this is Node ${process.versions.node}. ` +
      '`npm ci` without --omit=optional brings one along on Linux; nodejs.org has the others.\n',
  )
  process.exit(1)
}
