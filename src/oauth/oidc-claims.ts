import type { Role } from '../core/caller.ts'
import { isMembers, itemsOf, textIn } from '../core/any-json.ts'

/** The claims about a person, of an ID token or of the UserInfo endpoint. */
export type Claims = Readonly<Record<string, unknown>> & { sub: string }

export type RoleRules = {
  issuer: string
  groupClaim: string
  /** Roles by group, or by `@` and an e-mail domain. */
  roles: Readonly<Record<string, Role>>
}

const roleOrder: readonly Role[] = ['member', 'admin', 'owner']
const groupsMax = 1000

/** The highest role of the person's groups and e-mail domain; undefined without one. */
export function roleOf(claims: Claims, { issuer, groupClaim, roles }: RoleRules): Role | undefined {
  const domain = domainOf(claims, issuer)
  const rules = new Map(Object.entries(roles).map(([name, role]) => [ruleName(name), role]))
  const groups = groupsOf(claims, groupClaim).map(ruleName)
  const names = groups.filter((name) => !name.startsWith('@'))
  if (domain !== undefined) names.push(ruleName(`@${domain}`))
  return roleOrder.findLast((role) => names.some((name) => rules.get(name) === role))
}

/** The values of the group claim: `a.b` is the claim of this name, or else the member `b` of the claim `a`. */
export function groupsOf(claims: Claims, groupClaim: string): string[] {
  const nested = groupClaim
    .split('.')
    .reduce<unknown>((value, name) => (isMembers(value) ? value[name] : undefined), claims)
  const values = claims[groupClaim] ?? nested
  const all = typeof values === 'string' ? [values] : itemsOf(values).slice(0, groupsMax)
  return all.filter((value) => typeof value === 'string')
}

/** A group as Keycloak writes it, `/admins`, is the group `admins`; domains have no case. */
function ruleName(name: string): string {
  return name.startsWith('@') ? name.toLowerCase() : name.replace(/^\//, '')
}

/**
 * The domain of the verified e-mail. At Google it is the domain of the Workspace, `hd`: an account outside it may have
 * an address of the domain, also after its owner has left.
 */
function domainOf(claims: Claims, issuer: string): string | undefined {
  if (/^https:\/\/accounts\.google\.com\/?$/.test(issuer)) return textIn(claims['hd'])
  return isEmailVerified(claims) ? textIn(claims['email'])?.split('@').at(-1) : undefined
}

/** Whether the e-mail is verified. Cognito writes a text; Entra has its own claim (`xms_edov`). */
export function isEmailVerified({ email_verified: verified, xms_edov: ofEntra }: Claims): boolean {
  return [true, 'true', 1, '1'].some((value) => value === (verified ?? ofEntra))
}
