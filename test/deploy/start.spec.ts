import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { settingsTable } from '../../src/settings/settings-table.ts'
import { makeFolder, projectFolder } from '../support/folder.ts'
import { programPath } from '../support/program-path.ts'

const read = (path: string) => readFileSync(join(projectFolder, path), 'utf8')
const unitPath = 'deploy/systemd/model-access-gateway.service'
const unit = read(unitPath)
const dockerfile = read('deploy/Dockerfile')
const launcher = 'bin/model-access-gateway.cjs'

describe('the start of the gateway in production', () => {
  it('is the launcher in each deployment', () => {
    // `npm pack` refuses a package without these members.
    const { scripts, bin } = JSON.parse(read('package.json')) as Record<string, object>
    expect(scripts).to.include({ start: `exec node ${launcher}` })
    expect(bin).to.deep.equal({ 'model-access-gateway': launcher })
    expect(dockerfile).to.include(`ENTRYPOINT ["/usr/local/bin/node", "${launcher}"]\n`)
    expect(unit).to.include(`ExecStart=/usr/bin/node /opt/model-access-gateway/${launcher}\n`)
  })

  it('gives the gateway enough time to drain', () => {
    const [, drainMs] = /`limits\.drain_timeout_ms` \| `(\d+)`/.exec(settingsTable())!
    const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(unit)!
    expect(Number(seconds)).to.be.at.least(Number(drainMs) / 1000 + 15)
  })
})

describe('the systemd unit', () => {
  it('is valid, and gives the gateway few rights', function () {
    programPath('systemd-analyze', this)
    const folder = makeFolder()
    try {
      const copy = join(folder.path, 'model-access-gateway.service')
      // Replaces the program and the user by a program and a user of this machine.
      const here = unit
        .replace('/usr/bin/node', process.execPath)
        .replace(/^User=.*/m, `User=${userInfo().username}`)
      writeFileSync(copy, here)
      const verified = spawnSync('systemd-analyze', ['verify', '--man=no', copy], {
        encoding: 'utf8',
      })
      expect({ status: verified.status, text: verified.stderr }).to.deep.equal({
        status: 0,
        text: '',
      })
      // The threshold is the allowed exposure level. The level is above 90 without hardening.
      const words = ['security', '--offline=yes', '--threshold=20', '--no-pager', copy]
      expect(() => execFileSync('systemd-analyze', words, { stdio: 'pipe' })).not.to.throw()
    } finally {
      folder.remove()
    }
  })
})
