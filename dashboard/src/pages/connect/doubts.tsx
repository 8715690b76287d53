import type { Address } from '../../data/address.ts'

/** Reasons why clients may not reach the address, with the setting to change. */
export function Doubts({ address }: { address: Address }) {
  const { origin, isHttps, isPublic, isElsewhere } = address
  if (isHttps && isPublic && !isElsewhere) return null
  return (
    <div class="doubts" role="note">
      {(!isHttps || !isPublic) && (
        <p>
          <strong>
            {isPublic
              ? 'This address does not use https.'
              : 'This address cannot be reached from the internet.'}
          </strong>{' '}
          Claude (web, desktop and mobile) and ChatGPT connect from the internet and cannot reach
          it. Programs on this machine or in this network can. Put the gateway behind a proxy with
          TLS, set <code>BASE_URL</code> to the proxy's address, which starts with{' '}
          <code>https://</code>, and restart the gateway.
        </p>
      )}
      {isElsewhere && (
        <p>
          <strong>This page is open at a different address.</strong> Clients compare addresses
          character by character, so use <code>{origin}</code>. If that is wrong, set to the address
          that clients use, and restart the gateway.
        </p>
      )}
    </div>
  )
}
