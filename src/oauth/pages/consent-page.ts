import type { Answer } from '../../http/answer.ts'
import type { ClientText } from './client-text.ts'
import { alertOf, fieldOf, formOf, type FormBinding, type Problem } from './form.ts'
import { markup, type Html } from './html.ts'
import { pageAnswer } from './page.ts'

/** The person who is asked, with their accounts, or the holder of an API key. */
export type Holder =
  | { kind: 'person'; name: string; email: string; accounts: readonly Account[] }
  | { kind: 'key'; name: string; hint: string; mode: 'live' | 'test'; account: Account }
type Account = { id: string; name: string }

type ConsentPage = {
  client: ClientText
  binding: FormBinding
  holder: Holder
  /** Values from a form that was refused. */
  values?: { accountId?: string | undefined; budget?: string | undefined }
  problem?: Problem | undefined
  status?: number
}

/** The page on which a person allows or denies a client's request. */
export function consentPage(page: ConsentPage): Answer {
  const { client, binding, holder, problem, status } = page
  const form = markup`${holder.kind === 'key' ? keyTerms(holder) : personTerms(holder, page)}
<div class="actions">
<button name="action" value="allow">Allow</button>
<button class="second" name="action" value="deny" formnovalidate>Deny</button>
</div>`
  const content = markup`${alertOf(problem, ['budget_usd'])}<div class="client">
<p class="name"><bdi>${client.name}</bdi></p>
<p>You return to <strong>${client.place}</strong></p>
<p class="quiet">${client.proof}</p>
</div>
<h2>What it may do</h2>
<ul class="rights">
<li>Use the chat and image models on your account. The costs are yours.</li>
<li class="not">It cannot change API keys, members or settings.</li>
</ul>
${formOf(binding, whoOf(holder))}
${formOf(binding, form)}
<div class="foot">
<p>Allow it only if you started this yourself. You can end the connection at any time on the page
<a href="/dashboard/applications">Applications</a> of the dashboard.</p>
</div>`
  return pageAnswer({ title: 'Connect this application?', content, ...(status && { status }) })
}

type Person = Extract<Holder, { kind: 'person' }>
type Key = Extract<Holder, { kind: 'key' }>

/** A separate form, because the enter key submits the first button of a form. */
function whoOf(holder: Holder): Html {
  const who =
    holder.kind === 'person'
      ? markup`Signed in as <strong><bdi>${holder.name}</bdi></strong> (<bdi>${holder.email}</bdi>)`
      : markup`With the API key <strong><bdi>${holder.name}</bdi></strong> (${holder.hint})`
  return markup`<div class="who">
<p>${who}</p>
<button class="plain" name="action" value="switch">Use another account</button>
</div>`
}

function personTerms({ accounts }: Person, page: ConsentPage): Html {
  const { values, problem } = page
  return markup`${accountChoice(accounts, values?.accountId)}
${fieldOf({
  name: 'budget_usd',
  label: 'Monthly budget in US dollars (optional)',
  input: markup`inputmode="decimal" autocomplete="off" maxlength="20"`,
  value: values?.budget,
  hint: 'The application can spend at most this amount in a month. Leave it empty for no limit.',
  problem,
})}`
}

/** Shows a single account, or a choice of several. */
function accountChoice(accounts: readonly Account[], chosen: string | undefined): Html {
  const [first] = accounts
  if (accounts.length < 2) {
    return markup`<p>Account: <strong><bdi>${first?.name}</bdi></strong></p>
<input type="hidden" name="account_id" value="${first?.id}">`
  }
  const options = accounts.map(({ id, name }) => {
    const selected = id === chosen ? markup` selected` : undefined
    return markup`<option value="${id}"${selected}>${name}</option>`
  })
  return markup`<div class="field">
<label for="account_id">Account that pays</label>
<select id="account_id" name="account_id">${options}</select>
</div>`
}

function keyTerms({ mode, account }: Key): Html {
  const test = markup` It is a <strong>test key</strong>: answers come from the sandbox and cost nothing.`
  return markup`<p>Account: <strong><bdi>${account.name}</bdi></strong></p>
<p>The connection uses the limits and the budget of this key, and ends when the key
ends.${mode === 'test' ? test : undefined}</p>
<input type="hidden" name="account_id" value="${account.id}">`
}
