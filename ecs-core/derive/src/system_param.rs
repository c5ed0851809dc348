//! `#[derive(SystemParam)]`: implements a struct of parameters as one parameter.

use proc_macro2::{Group, Ident, Span, TokenStream as Tokens, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{DeriveInput, GenericParam, Generics, Member, Result};

use crate::bundle::pattern;
use crate::{fields_of_struct, root, root_option};

pub(crate) fn expand(input: &DeriveInput) -> Result<Tokens> {
    let root = root::path(root_option(&input.attrs, "system_param")?.as_ref(), &root::JOBS);
    let fields = fields_of_struct(input, "SystemParam")?;
    let (ident, visibility) = (&input.ident, &input.vis);
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    // The state has no lifetime, so it contains the states of the parameters with `'static` in place of
    // lifetimes.
    let lifetimes: Vec<&Ident> = input.generics.lifetimes().map(|it| &it.lifetime.ident).collect();
    let params = fields.iter().map(|field| {
        let kind = with_static(field.ty.to_token_stream(), &lifetimes);
        // Errors are shown at the field.
        let span = Span::call_site().located_at(field.ty.span());
        quote_spanned! { span => <#kind as _formic_jobs::SystemParam> }
    });
    let params: Vec<Tokens> = params.collect();
    let members: Vec<Member> = fields.members().collect();
    let names = members.iter().map(|member| match member {
        Member::Named(name) => name.unraw().to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    });
    let (_, kept) = pattern(fields);
    let state = without_lifetimes(&input.generics, &lifetimes)?;
    let (_, state_type, state_where) = state.split_for_impl();
    let state_params = &state.params;
    let types = state.type_params().map(|parameter| &parameter.ident);
    let arguments = input.generics.params.iter().map(|parameter| match parameter {
        GenericParam::Lifetime(_) => quote! { '_run },
        GenericParam::Type(parameter) => parameter.ident.to_token_stream(),
        GenericParam::Const(parameter) => parameter.ident.to_token_stream(),
    });
    Ok(quote! {
        const _: () = {
            use #root as _formic_jobs;

            #[doc(hidden)]
            #[allow(unnameable_types, unreachable_pub, missing_debug_implementations)]
            #visibility struct _ParamState <#state_params> #state_where {
                #(#kept: #params::State,)*
                _marker: ::core::marker::PhantomData<fn() -> (#(#types,)*)>,
            }

            #[automatically_derived]
            impl #impl_generics _formic_jobs::SystemParam for #ident #type_generics #where_clause {
                type State = _ParamState #state_type;
                type Item<'_run> = #ident <#(#arguments),*>;

                fn init(
                    __world: &mut _formic_jobs::__private::World,
                    __access: &mut _formic_jobs::SystemAccess,
                ) -> Self::State {
                    _ = (&__world, &__access);
                    _ParamState {
                        #(#kept: __access.of_field(#names, |__access| #params::init(__world, __access)),)*
                        _marker: ::core::marker::PhantomData,
                    }
                }

                fn fetch<'_run>(
                    __state: &'_run mut Self::State,
                    __context: _formic_jobs::RunContext<'_run>,
                ) -> ::core::result::Result<Self::Item<'_run>, _formic_jobs::ParamError> {
                    _ = (&__state, &__context);
                    ::core::result::Result::Ok(#ident {
                        #(#members: #params::fetch(&mut __state.#kept, __context)?,)*
                    })
                }

                fn visit_commands(
                    __state: &mut Self::State,
                    __visit: &mut dyn ::core::ops::FnMut(&mut [_formic_jobs::__private::CommandBuffer]),
                ) {
                    _ = (&__state, &__visit);
                    #(#params::visit_commands(&mut __state.#kept, __visit);)*
                }

                fn finish(__state: &mut Self::State, __context: _formic_jobs::RunContext<'_>) {
                    _ = (&__state, &__context);
                    #(#params::finish(&mut __state.#kept, __context);)*
                }

                fn visit_state(
                    __state: &mut Self::State,
                    __archive: &mut _formic_jobs::StateArchive<'_>,
                ) {
                    _ = (&__state, &__archive);
                    #(#params::visit_state(&mut __state.#kept, __archive);)*
                }
            }
        };
    })
}

/// Returns the generics without these lifetimes, which become `'static` in the bounds.
fn without_lifetimes(generics: &Generics, lifetimes: &[&Ident]) -> Result<Generics> {
    let mut left = Generics::default();
    for parameter in &generics.params {
        if !matches!(parameter, GenericParam::Lifetime(_)) {
            left.params.push(syn::parse2(with_static(parameter.to_token_stream(), lifetimes))?);
        }
    }
    if let Some(clause) = &generics.where_clause {
        left.where_clause = Some(syn::parse2(with_static(clause.to_token_stream(), lifetimes))?);
    }
    Ok(left)
}

/// Returns the same tokens with `'static` in place of these lifetimes.
fn with_static(tokens: Tokens, lifetimes: &[&Ident]) -> Tokens {
    let mut is_lifetime = false;
    let tokens = tokens.into_iter().map(|token| {
        let is_name = std::mem::replace(&mut is_lifetime, false);
        match token {
            TokenTree::Ident(name) if is_name && lifetimes.contains(&&name) => {
                TokenTree::Ident(Ident::new("static", name.span()))
            }
            TokenTree::Group(group) => {
                let mut new = Group::new(group.delimiter(), with_static(group.stream(), lifetimes));
                new.set_span(group.span());
                TokenTree::Group(new)
            }
            token => {
                is_lifetime = matches!(&token, TokenTree::Punct(mark) if mark.as_char() == '\'');
                token
            }
        }
    });
    tokens.collect()
}
