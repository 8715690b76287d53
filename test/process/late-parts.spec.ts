import { expect } from 'chai'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { startServer } from '../support/server-process.ts'
import { until } from '../support/until.ts'

/** Prints on stderr when a file of oidc-provider is loaded. */
const hook = `import { registerHooks } from 'node:module'
registerHooks({ load(url, context, next) {
  if (url.includes('/node_modules/oidc-provider/')) console.error('it is loaded')
  return next(url, context)
} })`
const words = ['--import', `data:text/javascript,${encodeURIComponent(hook)}`]

describe('the library of the authorization server', () => {
  let folder: TemporaryFolder
  before(() => (folder = makeFolder()))
  after(() => folder.remove())

  it('is loaded with the first request that needs it, and not for metadata', async () => {
    const server = await startServer({ folder: folder.path, words })
    const read = async (path: string, init: RequestInit = {}) => {
      const answer = await fetch(server.url + path, init)
      await answer.text()
      return answer.status
    }
    for (const name of [
      'oauth-protected-resource',
      'oauth-authorization-server',
      'openid-configuration',
    ]) {
      expect(await read(`/.well-known/${name}`)).to.equal(200)
    }
    expect(await read('/mcp', { method: 'POST' })).to.equal(401)
    expect(server.stderr()).to.not.contain('it is loaded')
    expect(await read('/oauth/jwks')).to.equal(200)
    await until('the load is printed', () => server.stderr().includes('it is loaded'))
    server.kill('SIGTERM')
    await server.ended
  })
})
