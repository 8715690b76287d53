import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { settingsTable } from '../../src/settings/config.ts'
import { makeFolder, projectFolder } from '../support/folder.ts'
import { programPath } from '../support/program-path.ts'

const read = (path: string) => readFileSync(join(projectFolder, path), 'utf8')
const unitPath = 'deploy/systemd/model-access-gateway.service'
const unit = read(unitPath)
const dockerfile = read('deploy/Dockerfile')
const page = /```sh\nexport NODE_COMPILE_CACHE[\s\S]*?```/.exec(read('docs/deployment.md'))![0]
const { scripts } = JSON.parse(read('package.json')) as { scripts: { start: string } }

const flagsOf = (text: string) => [...text.matchAll(/(?<=[\s"])--[a-z0-9-]+(?:=\w+)?/g)].map(String)
const allocatorOf = (text: string) =>
  Object.fromEntries(
    [...text.matchAll(/\b(MALLOC_\w+)=(\d+)/g)].map(([, name, value]) => [name, value]),
  )

describe('the start of the gateway in production', () => {
  const command = /^CMD (.+)$/m.exec(dockerfile)![1]!
  const execStart = /^ExecStart=((?:.*\\\n)*.*)$/m.exec(unit)![1]!

  it('has the flags of npm start', () => {
    const flags = flagsOf(scripts.start)
    expect(flags).to.include('--expose-gc')
    expect({
      page: flagsOf(page),
      dockerfile: flagsOf(command),
      unit: flagsOf(execStart),
    }).to.deep.equal({ page: flags, dockerfile: flags, unit: flags })
  })

  it('sets the variables of docs/deployment.md', () => {
    const variables = allocatorOf(page)
    expect(variables).to.include(allocatorOf(scripts.start))
    expect(allocatorOf(dockerfile)).to.deep.equal(variables)
    expect(allocatorOf(unit)).to.deep.equal(variables)
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
