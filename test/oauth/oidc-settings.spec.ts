import { expect } from 'chai'
import { roles } from '../support/oidc-gateway.ts'
import { roleOf } from '../../src/oauth/oidc-claims.ts'
import { loadConfig, type ConfigError } from '../../src/settings/config.ts'

describe('the role of a person', () => {
  const rules = {
    issuer: 'https://login.example',
    groupClaim: 'groups',
    roles: { ...roles },
  } as const
  const of = (claims: object, more: object = {}) =>
    roleOf({ sub: 'a', ...claims }, { ...rules, ...more })
  const email = 'ada@partner.example'

  it('is found in the claims of Keycloak, Entra, Cognito and Auth0', () => {
    expect(of({ groups: ['/owners', '/admins'] })).to.equal('owner')
    const groupClaim = 'https://gateway.example/roles'
    expect(of({ [groupClaim]: ['admins'] }, { groupClaim })).to.equal('admin')
    expect(
      of({ roles: { gateway: { roles: 'owners' } } }, { groupClaim: 'roles.gateway.roles' }),
    ).to.equal('owner')
    expect(of({ email, email_verified: 'true' })).to.equal('member')
    expect(of({ email, xms_edov: '1' })).to.equal('member')
    for (const claims of [
      { email },
      { email, email_verified: 'false' },
      { email, email_verified: false, xms_edov: true },
      { email: 'ada@partner.example.evil', email_verified: true },
      { email: 'ada@sub.partner.example', email_verified: true },
      { groups: 'constructor' },
      { groups: { admins: true } },
      { groups: [null, {}, '@partner.example', '/@partner.example'] },
    ])
      expect(of(claims), JSON.stringify(claims)).to.equal(undefined)
  })

  it('needs an account of the Workspace at Google, which `hd` states', () => {
    const google = { issuer: 'https://accounts.google.com' }
    expect(of({ email, email_verified: true }, google)).to.equal(undefined)
    expect(of({ email, email_verified: true, hd: 'partner.example' }, google)).to.equal('member')
  })
})

describe('the settings of OpenID Connect', () => {
  it('name what is missing, and what is no address', () => {
    const complaintsOf = (variables: object) => {
      try {
        loadConfig({ ...variables })
        return ''
      } catch (error) {
        return (error as ConfigError).message
      }
    }
    expect(complaintsOf({ PASSWORD_SIGN_IN: 'closed' })).to.contain('OIDC_ISSUER is missing')
    const issuer = { OIDC_ISSUER: 'https://login.example.com' }
    expect(complaintsOf(issuer))
      .to.contain('OIDC_CLIENT_ID is missing')
      .and.contain('oidc_roles is empty')
    for (const OIDC_ISSUER of ['http://login.example.com', 'https://a@b', 'https://a/?b', 'login'])
      expect(complaintsOf({ OIDC_ISSUER })).to.contain(
        'must be the https address of an OpenID provider',
      )
  })
})
