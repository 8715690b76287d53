import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { settingsTable } from '../../src/settings/settings-table.ts'
import { nginxConfiguration, writeNginxTls } from '../support/deploy/composed.ts'
import { makeFolder, projectFolder } from '../support/folder.ts'
import { programPath } from '../support/program-path.ts'

const read = (name: string) => readFileSync(join(projectFolder, 'deploy/proxies', name), 'utf8')
const settings = settingsTable()
const defaultOf = (name: string) =>
  Number(new RegExp(`\`limits\\.${name}\` \\| \`(\\d+)\``).exec(settings)![1])

describe('the proxy configurations', () => {
  it('are accepted by nginx, also with TLS', function () {
    const nginx = programPath('nginx', this)
    const folder = makeFolder()
    try {
      const addresses = ['gateway-1', 'gateway-2'].map(
        (name) => [`${name}:8080`, '127.0.0.1:9'] as const,
      )
      const file = join(folder.path, 'nginx.conf')
      writeFileSync(file, nginxConfiguration(9, folder.path, addresses))
      writeNginxTls(10, folder.path)
      const { status, stderr } = spawnSync(nginx, ['-t', '-q', '-c', file, '-e', 'stderr'], {
        encoding: 'utf8',
      })
      expect({ status, stderr }).to.deep.equal({ status: 0, stderr: '' })
    } finally {
      folder.remove()
    }
  })

  it('are accepted by Caddy, and formatted by caddy fmt', function () {
    const caddy = programPath('caddy', this)
    const file = join(projectFolder, 'deploy/proxies/Caddyfile')
    const words = ['adapt', '--config', file, '--adapter', 'caddyfile', '--validate']
    expect(() => execFileSync(caddy, words, { stdio: 'pipe' })).not.to.throw()
    expect(execFileSync(caddy, ['fmt', file], { encoding: 'utf8', stdio: 'pipe' })).to.equal(
      read('Caddyfile'),
    )
  })

  it('have limits that match those of the gateway', () => {
    const nginx = read('nginx.conf')
    const caddy = read('Caddyfile')
    const numberIn = (text: string, pattern: RegExp) => Number(pattern.exec(text)![1])
    const longest = Math.max(defaultOf('chat_timeout_ms'), defaultOf('image_timeout_ms')) / 1000
    expect(numberIn(nginx, /proxy_read_timeout (\d+)s;/)).to.be.greaterThan(longest)
    expect(numberIn(caddy, /response_header_timeout (\d+)s/)).to.be.greaterThan(longest)
    const largest = defaultOf('request_bytes_max')
    expect(numberIn(nginx, /client_max_body_size (\d+);/)).to.equal(largest)
    expect(numberIn(caddy, /max_size (\d+)/)).to.equal(largest)
    // The proxy must close an idle connection before the gateway closes it, or a request could be lost.
    const quiet = defaultOf('drain_quiet_ms')
    expect(numberIn(nginx, /keepalive_timeout (\d+)ms;/)).to.be.below(quiet)
    expect(numberIn(caddy, /keepalive (\d+)ms/)).to.be.below(quiet)
    // The proxy must probe several times between the gateway's drain notice and the closing of its port.
    const asked = defaultOf('drain_notice_ms') / numberIn(caddy, /health_interval (\d+)ms/)
    expect(asked).to.be.at.least(4)
    expect(nginx.match(/^ *proxy_next_upstream (.*);$/m)![1]).to.equal('error timeout')
  })
})
